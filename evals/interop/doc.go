// Package interop runs the client against servers that others wrote: those of
// the official Go SDK and of mcp-go in this process and as child processes, and
// servers from npm as child processes.
package interop
