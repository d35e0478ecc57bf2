# What makes a mistake in C harder to exploit, where compiler and processor have it. tests/check/abi/hardening reads the
# built files for it. The sanitizers bring checks of their own, which do not go together with the library's.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

function(acemq_compile_option_if_known flag name)
  check_c_compiler_flag(${flag} ${name})
  if(${name})
    target_compile_options(acemq_compile_options INTERFACE ${flag})
  endif()
endfunction()

target_link_options(acemq_compile_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
if(NOT ACEMQ_SANITIZE)
  acemq_compile_option_if_known(-fstack-protector-strong ACEMQ_HAS_STACK_PROTECTOR)
  acemq_compile_option_if_known(-fstack-clash-protection ACEMQ_HAS_STACK_CLASH_PROTECTION)
  acemq_compile_option_if_known(-fcf-protection=full ACEMQ_HAS_CF_PROTECTION)
  acemq_compile_option_if_known(-mbranch-protection=standard ACEMQ_HAS_BRANCH_PROTECTION)
  # It takes an optimizing compiler.
  target_compile_options(acemq_compile_options INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
endif()

# The same bytes, wherever the checkout lies.
acemq_compile_option_if_known(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. ACEMQ_HAS_FILE_PREFIX_MAP)
