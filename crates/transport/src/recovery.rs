//! How a sender of TCP detects losses.

pifolab_params::choices! {
    /// How a sender detects losses, and at which pace it repairs them.
    #[derive(Default)]
    pub enum Recovery {
        #[default]
        Duplicates = "duplicates": "duplicate acknowledgements; one retransmission per partial acknowledgement (RFC 6582)",
        Rack = "rack": "times of transmission, and a probe after the last segment (RFC 8985), as in Linux",
    }
}
