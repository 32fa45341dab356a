package child

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object: all descendants of the process belong to it, and end with it, even if our own process is killed.
type group struct {
	process *os.Process

	mu     sync.Mutex
	job    windows.Handle // zero after release
	counts accounting     // for alive: a variable on the stack could move before the system writes to it
}

// startGroup starts a process suspended, and resumes it in its job, so that all that it starts belongs to the job, too.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("make a job object: %v", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, // Ctrl-C is meant only for this process
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	g := &group{process: cmd.Process, job: job}
	if err := g.begin(); err != nil {
		g.release()
		_ = cmd.Wait()
		return nil, err
	}
	return g, nil
}

// limits are of every job. A variable on the stack could move before the system reads it.
var limits = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
	BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
}

// newJob makes a job that ends its members when its last handle is closed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// resumeProcess is undocumented. ResumeThread would need the handle of the thread, which os/exec does not return.
var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// begin puts the suspended process into the job, and then resumes it.
func (g *group) begin() (err error) {
	handleErr := g.process.WithHandle(func(handle uintptr) {
		if assignErr := windows.AssignProcessToJobObject(g.job, windows.Handle(handle)); assignErr != nil {
			err = fmt.Errorf("put the process into a job object: %v", assignErr)
			return
		}
		if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = fmt.Errorf("resume the process: %v", windows.NTStatus(status))
		}
	})
	return cmp.Or(handleErr, err)
}

// alive reports whether the job has running members. It returns true if the query fails.
func (g *group) alive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return false
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&g.counts)), uint32(unsafe.Sizeof(g.counts)), nil)
	return err != nil || g.counts.ActiveProcesses > 0
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, which x/sys does not have.
type accounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64

	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses uint32
}

func (g *group) runs() bool { return g.alive() } // Windows has no zombies

func (g *group) terminate() { g.kill() } // Windows has no SIGTERM

// kill tells the system to end all members, and does not wait.
func (g *group) kill() {
	_ = g.process.Kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// release kills first because a process that begin could not put into the job does not end with it.
func (g *group) release() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}
