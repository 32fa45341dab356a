// Package googleai tests an agent's tools with langchaingo's provider for Gemini. The provider
// refuses a whole conversation because of one schema that it cannot convert.
//
// It is a module of its own: that provider brings Google's clients and gRPC,
// and programs with other models do not need these.
package googleai
