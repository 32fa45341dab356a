// Package chat asks a model for a completion over the Chat Completions API, at
// OpenAI or at one of the many hosts that imitate it.
//
// go-openai knows the addresses, the authentication and the common fields. What
// it cannot say or would lose is closed here, at the only place where all of a
// request passes: the HTTPDoer of its configuration.
//
//	Request ── encode ──▶ openai.ChatCompletionRequest + amendments
//	                                  │ go-openai: URL, credentials, JSON
//	                                  ▼
//	                        exchange.Do: amends the JSON, sends it,
//	                        keeps the reply, turns failures into *Error
//	                                  │ raw reply
//	Reply ◀── decode, or assemble ────┘ the stream's events
//
// What differs between hosts is a row in the table of profile.go, what differs
// between OpenAI's models a row in models.go. Callers see neither: tool names
// and call ids that a host would refuse go out as others, and a name comes back
// as itself; stop sequences hold everywhere; a required tool call is one or an
// error.
package chat
