# PROGRAM, run in an empty folder SCRATCH, ends well and prints what the comment on top of SOURCE promises: each line
# "// expect: <regular expression>" matches its output, each after the one before.

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
    COMMAND ${PROGRAM}
    WORKING_DIRECTORY ${SCRATCH}
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE code)
message("${output}${errors}")
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${PROGRAM}: ended with ${code}")
endif()

file(READ ${SOURCE} source)
set(promises 0)
while(source MATCHES "^[^\n]*\n(.*)$")
    set(rest "${CMAKE_MATCH_1}")
    if(source MATCHES "^// +expect: ([^\n]+)\n")
        set(expected "${CMAKE_MATCH_1}")
        math(EXPR promises "${promises} + 1")
        if(NOT output MATCHES "${expected}")
            message(FATAL_ERROR "${PROGRAM}: does not print (or not in this order): ${expected}")
        endif()
        string(FIND "${output}" "${CMAKE_MATCH_0}" place)
        string(LENGTH "${CMAKE_MATCH_0}" length)
        math(EXPR place "${place} + ${length}")
        string(SUBSTRING "${output}" ${place} -1 output)
    elseif(NOT source MATCHES "^//")
        break()
    endif()
    set(source "${rest}")
endwhile()
if(promises EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: promises nothing: the comment on top needs a line \"// expect: <regular expression>\"")
endif()
