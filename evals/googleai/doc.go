// Package googleai holds the tools that an agent gives to a model against
// langchaingo's provider for Gemini, which turns down a whole conversation over one
// schema that it cannot convert.
//
// It is a module of its own: that provider brings Google's clients and gRPC, which
// programs with other models are spared.
package googleai
