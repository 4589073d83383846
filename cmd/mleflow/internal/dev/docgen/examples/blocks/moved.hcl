moved {
  from = step.exec.summary
  to   = step.exec.report
}
