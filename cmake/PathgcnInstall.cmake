# What `cmake --install` copies, and the two ways other projects find it: pkg-config and
# find_package(pathgcn), with the targets pathgcn::pathgcn and pathgcn::pathgcn_static.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pathgcn)

# Two export sets, so that a user of the shared library needs none of the libraries below it.
install(TARGETS pathgcn EXPORT pathgcnShared)
install(TARGETS pathgcn_static EXPORT pathgcnStatic)
install(FILES include/pathgcn/pathgcn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pathgcn)
install(EXPORT pathgcnShared NAMESPACE pathgcn:: DESTINATION ${package_dir})
install(EXPORT pathgcnStatic NAMESPACE pathgcn:: DESTINATION ${package_dir})

configure_package_config_file(cmake/pathgcnConfig.cmake.in pathgcnConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(pathgcnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pathgcnConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pathgcnConfigVersion.cmake cmake/PathgcnDependencies.cmake
        DESTINATION ${package_dir})

# pathgcn.pc finds its prefix from its own place, so that `cmake --install --prefix` may move it.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_curl "")
if(PATHGCN_FETCH)
    set(pc_curl " -lcurl")
endif()
set(pc_metis "")
if(PATHGCN_HAS_METIS)
    set(pc_metis " -lmetis")
endif()
set(pc_uring "")
if(PATHGCN_URING)
    set(pc_uring " -luring")
endif()
configure_file(cmake/pathgcn.pc.in pathgcn.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pathgcn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET pathgcn_program)
    install(TARGETS pathgcn_program)
    if(NOT CMAKE_CROSSCOMPILING OR EXISTS ${PATHGCN_MAN_PAGE})
        install(FILES ${PATHGCN_MAN_PAGE} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    endif()
    install(FILES completions/pathgcn.bash RENAME pathgcn OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES completions/pathgcn.fish OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    # Debian's zsh looks below /usr in vendor-completions, every zsh in site-functions of its own prefix.
    set(zsh_folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
        set(zsh_folder vendor-completions)
    endif()
    install(FILES completions/pathgcn.zsh RENAME _pathgcn OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder})
endif()
install(FILES ${recipe_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/pathgcn/recipes)
# The documents and examples as they are in the source, so that links and commands of README.md work there:
# `pathgcn info --docs` is this folder.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff
        DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL
        PATTERN __pycache__ EXCLUDE)
