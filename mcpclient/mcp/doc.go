// Package mcp holds the words of the Model Context Protocol: what tools, prompts,
// resources and tasks are, the content of results, what a server asks by sampling
// and elicitation, what a server says of itself, revisions and error codes. Package
// forms reads the forms of elicitations. Its types read and write the wire's JSON within bounds. There
// is no input or output here, no goroutine and no client: package mcpclient has
// those, and a host with sessions of its own can do without it.
//
// Decoders keep what they do not know: an [UnknownContent] has the raw JSON, and
// schemas, structured content and _meta stay bytes from the wire to the model.
//
// # Bounds
//
//	items of a page, blocks of a result, messages of a request  10,000
//	tool results in tool results  4 deep; deeper ones are an UnknownContent
//	a cursor                      64 KiB
//	a URI or id that changed      8 KiB; a longer one is [Stale]
//	how long a result may be kept 24 h
//	_meta of a server             64 KiB; a larger one is not kept
//	capabilities that the protocol does not name  100, of 64 KiB together
//	texts of a peer in errors     1 KiB
package mcp
