# Compiler flags of everything built here: pathgcn_compile(target) applies them.
set(pathgcn_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(PATHGCN_WERROR)
    list(APPEND pathgcn_warnings -Werror)
endif()

if(PATHGCN_SANITIZE)
    add_compile_options(-fsanitize=${PATHGCN_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${PATHGCN_SANITIZE})
endif()

function(pathgcn_compile target)
    target_compile_options(${target} PRIVATE ${pathgcn_warnings})
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON)
endfunction()
