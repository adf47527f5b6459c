# The program build/pathgcn, and its manual page, which the program itself prints.
#
# It sees the public header and, as cli/, its own folder only: an internal header does not compile
# there. Hence the link instead of the whole of src/.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/cli/*.c)
if(NOT cli_sources)
    message(STATUS "src/cli holds no program")
    return()
endif()

add_executable(pathgcn_program ${cli_sources})
pathgcn_compile(pathgcn_program)
set(cli_include ${CMAKE_CURRENT_BINARY_DIR}/cli_include)
file(MAKE_DIRECTORY ${cli_include})
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/cli ${cli_include}/cli SYMBOLIC)
target_include_directories(pathgcn_program PRIVATE ${cli_include})
target_link_libraries(pathgcn_program PRIVATE pathgcn_static)
set_target_properties(pathgcn_program PROPERTIES OUTPUT_NAME pathgcn)

set(PATHGCN_MAN_PAGE ${CMAKE_CURRENT_SOURCE_DIR}/docs/pathgcn.1)
if(NOT EXISTS ${PATHGCN_MAN_PAGE} AND NOT CMAKE_CROSSCOMPILING)
    set(PATHGCN_MAN_PAGE ${CMAKE_CURRENT_BINARY_DIR}/pathgcn.1)
    add_custom_command(
        OUTPUT ${PATHGCN_MAN_PAGE}
        COMMAND pathgcn_program manual > ${PATHGCN_MAN_PAGE}
        DEPENDS pathgcn_program
        COMMENT "Writing the manual page")
    add_custom_target(pathgcn_manual ALL DEPENDS ${PATHGCN_MAN_PAGE})
endif()
