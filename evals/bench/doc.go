// Bench compares MCP clients.
package main
