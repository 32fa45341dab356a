// Package stats says what rates of tasks mean: their intervals, and which differences are chance.
//
// The unit is the task. The trials of a task are alike, so that an interval over trials is too
// narrow: [Rate], [TInterval] and [BCa] take one value for each task. [Wilson] is for suites with one
// trial of each task.
package stats
