# cmake --install, in three components: runtime (the shared library), development (headers, the static library,
# what CMake and pkg-config ask for) and tools (the command line). What is installed may be moved as a whole.
include(CMakePackageConfigHelpers)

install(TARGETS acemq
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS acemq_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(DIRECTORY abi/include/acemq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(ACEMQ_STATIC)
  install(TARGETS acemq_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()

# The command line finds its library wherever both were moved to.
file(RELATIVE_PATH ACEMQ_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(acemq_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${ACEMQ_BIN_TO_LIB}")

# msgpack-c goes by either name.
set(ACEMQ_MSGPACK_MODULE msgpack-c)
pkg_check_modules(ACEMQ_NEW_MSGPACK QUIET msgpack-c)
if(NOT ACEMQ_NEW_MSGPACK_FOUND)
  set(ACEMQ_MSGPACK_MODULE msgpack)
endif()

set(ACEMQ_PC_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ACEMQ_PC_TO_PREFIX ${CMAKE_INSTALL_PREFIX}/${ACEMQ_PC_FOLDER} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" ACEMQ_PC_TO_PREFIX "${ACEMQ_PC_TO_PREFIX}")
configure_file(packaging/cmake/acemq.pc.in acemq.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/acemq.pc DESTINATION ${ACEMQ_PC_FOLDER} COMPONENT development)

set(ACEMQ_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/acemq)
configure_package_config_file(packaging/cmake/acemq-config.cmake.in acemq-config.cmake
  INSTALL_DESTINATION ${ACEMQ_CONFIG_FOLDER}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the ABI.
set(ACEMQ_COMPATIBILITY SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(ACEMQ_COMPATIBILITY SameMinorVersion)
endif()
write_basic_package_version_file(acemq-config-version.cmake COMPATIBILITY ${ACEMQ_COMPATIBILITY})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/acemq-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/acemq-config-version.cmake
  DESTINATION ${ACEMQ_CONFIG_FOLDER} COMPONENT development)
