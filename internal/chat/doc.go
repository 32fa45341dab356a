// Package chat asks a model for a completion over the Chat Completions API, at
// OpenAI or at one of the many hosts that imitate it.
//
// go-openai knows the addresses, the authentication and the common fields. The
// HTTPDoer of its configuration, which sees every whole request, adds the
// fields that go-openai cannot express or would lose.
//
//	Request ── encode ──▶ openai.ChatCompletionRequest + amendments
//	                                  │ go-openai: URL, credentials, JSON
//	                                  ▼
//	                        exchange.Do: amends the JSON, sends it,
//	                        keeps the reply, turns failures into *Error
//	                                  │ raw reply
//	Reply ◀── decode, or assemble ────┘ the stream's events
//
// A row in the table of profile.go describes the differences of a host, a row
// in models.go the differences of OpenAI's models. Callers do not see them. If
// a host would refuse a tool name or a call id, it gets another one, and the
// caller's name comes back. Stop sequences hold at every host. A required tool
// call is made, or its absence is an error.
package chat
