# The program build/pathgcn, and its manual page, which the program itself prints.
#
# It sees the public header and its own folders, report/, cli/ and experiments/, only: an internal header
# does not compile there. Hence the links instead of the whole of src/.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/report/*.c
     ${CMAKE_CURRENT_SOURCE_DIR}/src/cli/*.c
     ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/*.c)
if(NOT cli_sources)
    message(STATUS "src/cli holds no program")
    return()
endif()

set(cli_main ${CMAKE_CURRENT_SOURCE_DIR}/src/cli/main.c)
list(REMOVE_ITEM cli_sources ${cli_main})
set(cli_include ${CMAKE_CURRENT_BINARY_DIR}/cli_include)
file(MAKE_DIRECTORY ${cli_include})
foreach(room report cli experiments)
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/${room} ${cli_include}/${room} SYMBOLIC)
endforeach()

# Everything but main(), so that unit tests can take what they look at.
add_library(pathgcn_commands STATIC ${cli_sources})
add_executable(pathgcn_program ${cli_main})
foreach(target pathgcn_commands pathgcn_program)
    pathgcn_compile(${target})
    target_include_directories(${target} PRIVATE ${cli_include}
                               ${CMAKE_CURRENT_SOURCE_DIR}/include)
endforeach()
# Where `pathgcn info --docs` finds what PathgcnInstall.cmake puts there.
file(RELATIVE_PATH docs_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DOCDIR})
set_source_files_properties(src/cli/cmd_info.c PROPERTIES COMPILE_DEFINITIONS
                            "CLI_DOCS=\"${docs_from_program}\";CLI_DOCS_INSTALLED=\"${CMAKE_INSTALL_FULL_DOCDIR}\"")
target_link_libraries(pathgcn_commands PRIVATE ${PATHGCN_DEPENDENCIES})
# igraph lays out drawings where it is found. It is opened when it is needed and not linked (layout_igraph.c says why),
# so only its headers and the name of its file are looked for.
if(PATHGCN_IGRAPH)
    find_path(PATHGCN_IGRAPH_HEADER igraph/igraph.h)
    find_library(PATHGCN_IGRAPH_LIBRARY igraph)
endif()
if(PATHGCN_IGRAPH AND PATHGCN_IGRAPH_HEADER AND PATHGCN_IGRAPH_LIBRARY)
    file(REAL_PATH ${PATHGCN_IGRAPH_LIBRARY} igraph_file)
    get_filename_component(igraph_file ${igraph_file} NAME)
    string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" igraph_file ${igraph_file})
    set_source_files_properties(src/report/layout_igraph.c PROPERTIES COMPILE_DEFINITIONS
                                "REPORT_IGRAPH=\"${igraph_file}\"")
    target_link_libraries(pathgcn_commands PRIVATE ${CMAKE_DL_LIBS})
endif()
target_link_libraries(pathgcn_program PRIVATE pathgcn_commands pathgcn_static)
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
