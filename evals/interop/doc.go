// Package interop runs the client against servers by other authors, or on their libraries: the
// official SDKs for Go and TypeScript with their example servers, mcp-go with its, fastmcp, and the
// protocol's reference servers, in this process and as child processes.
//
// The folder testdata/tools has the tools of these servers, one definition on
// each line; TestToolLists compares the lists with the servers.
package interop
