// Package interop runs the client against servers that others wrote, or that use
// what others wrote: the official SDKs for Go and TypeScript with their example
// servers, mcp-go with its, fastmcp, and the protocol's reference servers, in this
// process and as child processes.
//
// The folder testdata/tools has what these servers offer as tools, one definition
// in a line; TestToolLists holds the lists against the servers.
package interop
