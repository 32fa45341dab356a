// Package interop runs the client against servers that others wrote, or that use
// what others wrote: the official SDKs for Go and TypeScript, mcp-go, and the
// protocol's reference servers, in this process and as child processes.
package interop
