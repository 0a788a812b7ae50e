# SOURCE compiles with -DAFTERTOUCH_ACCEPT, and without it fails with an error whose first line
# matches the regular expression of SOURCE's own first line, "// refused: <regular expression>".

file(STRINGS ${SOURCE} first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// refused: (.+)$")
    message(FATAL_ERROR "${SOURCE}: the first line must say what is refused: \"// refused: <regular expression>\"")
endif()
set(sentence "${CMAKE_MATCH_1}")

list(TRANSFORM INCLUDES PREPEND -I)
list(APPEND INCLUDES -O0 -include ${PRECOMPILED})
set(ENV{LC_ALL} C)

function(compile code_result output_result)
    execute_process(
        COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${INCLUDES} ${ARGN} ${SOURCE}
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output
        RESULT_VARIABLE code)
    set(${code_result} "${code}" PARENT_SCOPE)
    set(${output_result} "${output}" PARENT_SCOPE)
endfunction()

compile(code output -DAFTERTOUCH_ACCEPT)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: the accepted twin does not compile\n${output}")
endif()

compile(code output)
if(code EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: compiles, and should be refused: ${sentence}")
endif()
if(NOT output MATCHES "[^\n]*error:[^\n]*")
    message(FATAL_ERROR "${SOURCE}: fails without an error line\n${output}")
endif()
set(first_error "${CMAKE_MATCH_0}")
if(NOT first_error MATCHES "${sentence}")
    message(FATAL_ERROR "${SOURCE}: is refused with\n  ${first_error}\nand not with\n  ${sentence}")
endif()
