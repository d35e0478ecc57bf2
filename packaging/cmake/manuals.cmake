# The manual pages: that of the library is written, those of the command line are made from what it says with --help.
# A build without Python, or that another machine has to run, has only the first.
install(FILES docs/man/acemq.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)

find_program(ACEMQ_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(ACEMQ_PYTHON AND NOT CMAKE_CROSSCOMPILING AND NOT ACEMQ_SANITIZE)
  add_custom_command(OUTPUT man/acemq.1
    COMMAND ${ACEMQ_PYTHON} ${PROJECT_SOURCE_DIR}/packaging/cmake/man_pages.py $<TARGET_FILE:acemq_cli> man
    DEPENDS acemq_cli packaging/cmake/man_pages.py VERBATIM)
  add_custom_target(manuals ALL DEPENDS man/acemq.1)
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endif()
