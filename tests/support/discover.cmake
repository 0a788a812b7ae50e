# Writes OUTPUT: one add_test for each TEST_CASE of EXECUTABLE, with LABELS and those TAG_LABELS that it has as a tag,
# that needs FIXTURE. Those with the tag `night` are tests only while AFTERTOUCH_SOAK=night.
# (Catch2's own catch_discover_tests knows no labels by tag in version 2.)

if(CATCH_VERSION VERSION_LESS 3)
    set(list_arguments --list-test-names-only)
else()
    set(list_arguments --list-tests --verbosity quiet)
endif()

# The names of the tests that match the arguments, each between two line ends.
function(list_tests result)
    execute_process(
        COMMAND ${EXECUTABLE} ${list_arguments} ${ARGN}
        WORKING_DIRECTORY ${SCRATCH}
        OUTPUT_VARIABLE names
        ERROR_VARIABLE errors
        RESULT_VARIABLE code) # Catch2 version 2 answers the number of tests
    if(NOT code MATCHES "^[0-9]+$" OR NOT errors STREQUAL "")
        message(FATAL_ERROR "${EXECUTABLE} can't list its tests (${code}): ${errors}")
    endif()
    string(REGEX REPLACE "\n+" "\n" names "\n${names}")
    set(${result} "${names}" PARENT_SCOPE)
endfunction()

foreach(tag IN LISTS TAG_LABELS)
    list_tests(tagged_${tag} "[${tag}]")
endforeach()
list_tests(names)

set(script "")
while(names MATCHES "^\n([^\n]+)(\n.*)$")
    set(name "${CMAKE_MATCH_1}")
    set(names "${CMAKE_MATCH_2}")
    string(REGEX REPLACE "([][,\\\\])" "\\\\\\1" filter "${name}")
    set(labels ${LABELS})
    foreach(tag IN LISTS TAG_LABELS)
        string(FIND "${tagged_${tag}}" "\n${name}\n" place)
        if(NOT place EQUAL -1)
            list(APPEND labels ${tag})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES labels)
    list(FIND labels night by_night)
    if(by_night GREATER -1)
        string(APPEND script "if(\"\$ENV{AFTERTOUCH_SOAK}\" STREQUAL \"night\")\n")
    endif()
    string(APPEND script
        "add_test([==[${PREFIX}.${name}]==] [==[${EXECUTABLE}]==] [==[${filter}]==])\n"
        "set_tests_properties([==[${PREFIX}.${name}]==] PROPERTIES LABELS [==[${labels}]==] TIMEOUT ${TIMEOUT}"
        " FIXTURES_REQUIRED [==[${FIXTURE}]==]"
        " WORKING_DIRECTORY [==[${SCRATCH}]==] SKIP_REGULAR_EXPRESSION [==[^skipped: ;\nskipped: ]==])\n")
    if(by_night GREATER -1)
        string(APPEND script "endif()\n")
    endif()
endwhile()
file(WRITE ${OUTPUT} "${script}")
