# The shared library is optimized as a whole, across its files: a publish takes a sixth less instructions. Not with the
# sanitizers, which are to see each function as it is written.
include(CheckIPOSupported)

option(ACEMQ_WHOLE "Optimize the shared library as a whole, where the compiler can" ON)
if(NOT ACEMQ_WHOLE OR ACEMQ_SANITIZE OR NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  return()
endif()
check_ipo_supported(RESULT ACEMQ_HAS_WHOLE LANGUAGES C)
if(NOT ACEMQ_HAS_WHOLE)
  return()
endif()

target_sources(acemq PRIVATE ${ACEMQ_CORE_SOURCES})
# With -z now every address is known at the start, and a call takes no detour.
target_compile_options(acemq PRIVATE -fno-plt)
target_compile_definitions(acemq PRIVATE ACE_VERSION="${PROJECT_VERSION}")
set_target_properties(acemq PROPERTIES
  INTERPROCEDURAL_OPTIMIZATION_RELEASE ON
  INTERPROCEDURAL_OPTIMIZATION_RELWITHDEBINFO ON
  INTERPROCEDURAL_OPTIMIZATION_MINSIZEREL ON)
# The linker compiles too, and would name the folder it does so in.
if(ACEMQ_HAS_FILE_PREFIX_MAP)
  target_link_options(acemq PRIVATE -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)
endif()
