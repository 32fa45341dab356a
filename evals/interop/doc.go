// Package interop runs the client against servers that others wrote: the
// official Go SDK's in this process, npm servers as child processes.
package interop
