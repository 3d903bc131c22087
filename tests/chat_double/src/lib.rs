//! A strict stand-in for the chat services, which no test can reach.
