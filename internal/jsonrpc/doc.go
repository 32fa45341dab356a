// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope and keeps the table of calls that wait.
//
// The envelope is read key by key in one pass: names match exactly, a repeated
// name is an error, and the values are slices of the input that nobody has
// decoded yet. An id is kept as the bytes that the peer sent.
package jsonrpc
