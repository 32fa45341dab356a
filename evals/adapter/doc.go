// Package adapter runs one scenario over several servers through langchaingo's
// own agents and through ours: the same toolset serves them all.
package adapter
