-- Options are made with their members: acemq.ConsumerOptions{ prefetch = 1 }.
for _, name in ipairs { "ConnectOptions", "ConsumerOptions", "GroupOptions", "OrderedOptions", "Partitioning",
    "PublisherOptions", "BrowserOptions", "ReplayOptions", "IdempotencyOptions", "OutboxOptions", "RelayOptions",
    "MetricsOptions", "ClaimDirectoryOptions" } do
    local make = acemq[name]
    acemq[name] = function(members)
        local options = make()
        for member, value in pairs(members or {}) do
            options[member] = value
        end
        return options
    end
end
