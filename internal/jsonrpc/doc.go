// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope and keeps the table of waiting calls.
//
// The envelope is read key by key in one pass: names match exactly, a repeated name is an error, and
// the values are undecoded slices of the input. An id is kept as the peer's bytes.
package jsonrpc
