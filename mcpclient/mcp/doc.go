// Package mcp defines the types of the Model Context Protocol: tools, prompts, resources, tasks, the content of
// results, the requests of a server for sampling and elicitation, its description of itself, revisions and error codes.
// The types decode and encode the JSON of the wire within bounds. There is no I/O here, no goroutine and no client:
// package mcpclient has those, but a host with sessions of another library can use these types without it. Package
// forms reads the forms of elicitations.
//
// Decoders keep what they do not know: an [UnknownContent] has the raw JSON, and schemas, structured content and _meta
// stay raw bytes from the wire to the model. Decoded values share no memory with their input.
//
// # Bounds
//
//	items of a page, blocks of a result, messages of a request  10,000; more are an error
//	tool results in tool results  4 deep; deeper ones are an UnknownContent
//	a cursor                      64 KiB; a longer one is an error
//	a URI or id that changed      8 KiB; a longer one is [Stale]
//	how long a result may be kept 24 h, even if the server says more
//	_meta of a server             64 KiB; a larger one is not kept
//	texts of a peer in errors     1 KiB; they are cut
package mcp
