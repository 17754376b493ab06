# find_package(pcr99): the targets pcr99::pcr99 (shared) and pcr99::static.
get_filename_component(_pcr99_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET pcr99::pcr99)
    add_library(pcr99::pcr99 SHARED IMPORTED)
    set_target_properties(pcr99::pcr99 PROPERTIES
        IMPORTED_LOCATION "${_pcr99_prefix}/lib/@SHARED@"
        INTERFACE_INCLUDE_DIRECTORIES "${_pcr99_prefix}/include")
    add_library(pcr99::static STATIC IMPORTED)
    set_target_properties(pcr99::static PROPERTIES
        IMPORTED_LOCATION "${_pcr99_prefix}/lib/libpcr99.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_pcr99_prefix}/include"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};$<$<PLATFORM_ID:Linux>:m>")
endif()
unset(_pcr99_prefix)
