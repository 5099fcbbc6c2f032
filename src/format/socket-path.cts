/** Maximum length of a Unix socket's path in bytes that works everywhere: unix(7) permits 107, macOS 103. */
export const MAX_SOCKET_PATH_BYTES = 103;
