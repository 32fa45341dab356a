// Package adapter runs one scenario over several servers with langchaingo's own
// agents and with ours. All agents use the same toolset.
package adapter
