// Package chat asks a model for a completion over the Chat Completions API, at
// OpenAI or at one of the many hosts that imitate it.
//
// go-openai knows the addresses and the authentication. The JSON is this package's own, with fields that go-openai cannot
// express or would lose.
//
//	Request ── encode ──▶ draft: the JSON, with URL and credentials of go-openai
//	                                  │
//	                                  ▼
//	                        Wire: sends it, repeats it, and turns failures into *Error
//	                                  │ the response, in one piece or as events
//	Reply ◀── complete ── Answer ◀────┘ of one of the APIs
//
// A row in the table of profile.go describes the differences of a host, a row in models.go the differences of OpenAI's
// models. What a host refuses beside its row is learned from its errors (quirks.go). Callers do not see the differences. If
// a host would refuse a tool name or a call id, it gets another one, and the caller's name comes back. Stop sequences hold
// at every host. The absence of a required tool call is an error.
package chat
