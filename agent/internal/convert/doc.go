// Package convert carries the messages of a run to langchaingo and back.
//
// [ToLLMS] writes messages as a provider of langchaingo takes them, [FromLLMS] reads messages, and
// [FromResponse] reads the reply of a model. [Generate] makes a model of ours one of langchaingo.
//
// What langchaingo's types have no field for is in [run.Part.Provider], under these names:
//
//	signature      the provider's proof of a reasoning text, a string
//	cache_control  a mark for the provider's cache: {"type":"ephemeral","ttl_ns":300000000000}
//	detail         the detail of an image, a string: "low" or "high"
//
// langchaingo has no content for reasoning, so ToLLMS leaves reasoning out. A summary is
// written as text.
package convert
