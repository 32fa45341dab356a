// Package sampling runs the sampler end to end: servers by other authors ask
// for completions, and a model's host by other authors answers.
package sampling
