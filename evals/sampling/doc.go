// Package sampling runs the sampler end to end: servers that others wrote ask
// for completions, of a model's host that others wrote too.
package sampling
