# frozen_string_literal: true

module AceMQ
  # The version of this gem. The library underneath says its own: AceMQ.library_version.
  VERSION = "0.1.0"
end
