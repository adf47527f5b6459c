# The libraries pathgcn stands on: jansson, libcrypto, libzip, libcurl (only if PATHGCN_FETCH), ISA-L
# (gzip), METIS (partitions; only if PATHGCN_METIS, where AUTO is "if it is there"), liburing (only if PATHGCN_URING),
# threads and libm.
#
# Read by the build and, installed beside pathgcnConfig.cmake, by projects that link the static library. Reads
# PATHGCN_FETCH, PATHGCN_METIS and PATHGCN_URING; sets PATHGCN_DEPENDENCIES (what to link), PATHGCN_HAS_METIS,
# PATHGCN_DEPENDENCIES_FOUND and, if something is missing, PATHGCN_DEPENDENCIES_MESSAGE, which says how to get all that
# is missing.
set(PATHGCN_DEPENDENCIES_FOUND TRUE)
set(missing_libraries "")
set(missing_packages "")

find_package(PkgConfig QUIET)
find_package(OpenSSL QUIET COMPONENTS Crypto)
find_package(Threads QUIET)

# Makes the imported target pathgcn_dep::<name> from pkg-config, or from the library and header
# alone where there is no .pc file.
macro(pathgcn_find name module library header package)
    if(NOT TARGET pathgcn_dep::${name})
        if(PKG_CONFIG_FOUND)
            pkg_check_modules(PATHGCN_${name} QUIET IMPORTED_TARGET ${module})
        endif()
        if(TARGET PkgConfig::PATHGCN_${name})
            add_library(pathgcn_dep::${name} INTERFACE IMPORTED)
            set_target_properties(pathgcn_dep::${name} PROPERTIES INTERFACE_LINK_LIBRARIES
                                  PkgConfig::PATHGCN_${name})
        else()
            find_library(PATHGCN_${name}_LIBRARY ${library})
            find_path(PATHGCN_${name}_HEADER ${header} PATH_SUFFIXES ${library})
            if(PATHGCN_${name}_LIBRARY AND PATHGCN_${name}_HEADER)
                add_library(pathgcn_dep::${name} INTERFACE IMPORTED)
                set_target_properties(
                    pathgcn_dep::${name} PROPERTIES
                    INTERFACE_LINK_LIBRARIES "${PATHGCN_${name}_LIBRARY}"
                    INTERFACE_INCLUDE_DIRECTORIES "${PATHGCN_${name}_HEADER}")
            else()
                list(APPEND missing_libraries ${library})
                list(APPEND missing_packages ${package})
            endif()
        endif()
    endif()
endmacro()

pathgcn_find(JANSSON jansson jansson jansson.h libjansson-dev)
pathgcn_find(LIBZIP libzip zip zip.h libzip-dev)
if(PATHGCN_FETCH)
    pathgcn_find(LIBCURL libcurl curl curl/curl.h libcurl4-openssl-dev)
    set(curl_target pathgcn_dep::LIBCURL)
else()
    set(curl_target "")
endif()
pathgcn_find(ISAL libisal isal isa-l.h libisal-dev)
set(PATHGCN_HAS_METIS FALSE)
if(PATHGCN_METIS)
    # It has no .pc file. Without it AUTO is a build with the built-in partition only.
    find_library(PATHGCN_METIS_LIBRARY metis)
    find_path(PATHGCN_METIS_HEADER metis.h)
    if((PATHGCN_METIS_LIBRARY AND PATHGCN_METIS_HEADER) OR NOT PATHGCN_METIS STREQUAL "AUTO")
        pathgcn_find(METIS metis metis metis.h libmetis-dev)
        set(PATHGCN_HAS_METIS TRUE)
    endif()
endif()
set(metis_target "")
if(PATHGCN_HAS_METIS)
    set(metis_target pathgcn_dep::METIS)
endif()
if(PATHGCN_URING)
    pathgcn_find(LIBURING liburing uring liburing.h liburing-dev)
    set(uring_target pathgcn_dep::LIBURING)
else()
    set(uring_target "")
endif()
if(NOT TARGET OpenSSL::Crypto)
    list(APPEND missing_libraries libcrypto)
    list(APPEND missing_packages libssl-dev)
endif()
if(NOT TARGET Threads::Threads)
    list(APPEND missing_libraries threads)
    list(APPEND missing_packages libc6-dev)
endif()

set(PATHGCN_DEPENDENCIES pathgcn_dep::JANSSON pathgcn_dep::LIBZIP ${curl_target}
    pathgcn_dep::ISAL ${metis_target} ${uring_target} OpenSSL::Crypto Threads::Threads m)
if(missing_libraries)
    set(PATHGCN_DEPENDENCIES_FOUND FALSE)
    string(REPLACE ";" ", " missing_libraries "${missing_libraries}")
    string(REPLACE ";" " " missing_packages "${missing_packages}")
    set(PATHGCN_DEPENDENCIES_MESSAGE
        "pathgcn needs libraries that were not found: ${missing_libraries}. Run tools/setup.sh, or \
on Debian and Ubuntu: apt-get install pkg-config ${missing_packages}")
endif()
