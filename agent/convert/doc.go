// Package convert carries the messages of a run to langchaingo and back.
//
// [ToLLMS] writes messages as a provider of langchaingo takes them, [FromLLMS] reads
// messages, and [FromResponse] reads the reply of a model. An [Encoder] writes a history
// that grows: it writes each message once.
//
// What langchaingo's types have no field for is in [run.Part.Provider], under these names:
//
//	signature      the provider's proof of a reasoning text, a string
//	cache_control  a mark for the provider's cache: {"type":"ephemeral","ttl_ns":300000000000}
//	host           what the host of a model wants back with a call or with reasoning: a model puts
//	               it into the GenerationInfo of its replies under "HostData", a map[string]json.RawMessage
//	               by the ids of the calls and "" for the message
//	detail         the detail of an image, a string: "low" or "high"
//
// langchaingo has no content for reasoning, so ToLLMS leaves reasoning out, but for what
// [Options].HostData says. A summary is
// written as text.
//
// Programs seldom need it: package agent converts by itself. Its guide is docs/agent.md of
// the repository.
package convert
