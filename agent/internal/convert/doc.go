// Package convert carries the messages of a run to langchaingo and back.
//
// [ToLLMS] writes messages as a provider of langchaingo takes them, [FromLLMS] reads messages, and
// [FromResponse] reads the reply of a model. [Generate] makes a model of ours one of langchaingo.
//
// The detail of an image, "low" or "high", is a string in [run.Part.Provider] under "detail".
// langchaingo has no content for reasoning, so ToLLMS leaves reasoning out. A summary is written as
// text.
package convert
