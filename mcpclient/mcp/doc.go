// Package mcp holds the words of the Model Context Protocol: what tools, prompts,
// resources and tasks are, the content of results, what a server asks by sampling
// and elicitation with the forms of that, what a server says of itself, revisions
// and error codes. Its types read and write the wire's JSON within bounds. There
// is no input or output here, no goroutine and no client: package mcpclient has
// those, and a host with sessions of its own can do without it.
//
// Decoders keep what they do not know: an [UnknownContent] has the raw JSON, and
// schemas, structured content and _meta stay bytes from the wire to the model.
package mcp
