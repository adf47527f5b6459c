# Toolchain file of tools/tarball.sh: this machine's compiler, and the C library and packages of an older Debian that
# were unpacked into PATHGCN_SYSROOT. Programs run here too, as long as they find these packages: the build has
# their absolute folder, an installed program looks in lib/pathgcn beside its own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PATHGCN_SYSROOT)
execute_process(COMMAND cc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_SYSROOT ${PATHGCN_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PATHGCN_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${PATHGCN_SYSROOT}/usr/lib/${multiarch}/pkgconfig:${PATHGCN_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_BUILD_RPATH ${PATHGCN_SYSROOT}/private)
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib/pathgcn)
# The compiler would look for the C library and the files that start a program in its own system first. DT_RPATH and
# not DT_RUNPATH: the former is also where the libraries find those that they need themselves.
set(folder ${PATHGCN_SYSROOT}/usr/lib/${multiarch})
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-B${folder} -L${folder} -Wl,-rpath-link,${folder} -Wl,--disable-new-dtags")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
