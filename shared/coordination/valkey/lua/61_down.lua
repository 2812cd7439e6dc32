-- down.go: a death.

function Group:down(call, now)
  checkDown(call)
  local held, newPod = self:admit(call)
  if self:leaving() or (not newPod and isStale(held, call)) then
    return self:reply(call.slot)
  end
  if newPod or not self:hasJoined(held, call) then
    self:join(call, now)
    held = self:slot(call.slot)
  end
  self:die(held, call, now)
  self:settle(now)
  return self:reply(call.slot)
end

function Group:die(s, call, now)
  if self:counted(s) and call.exitCode == 0 and not call.ordered then
    s.dead, s.finished = true, true
    self.done = self.done + 1
    return
  end
  self:bury(s, {
    slot = call.slot, kind = 'exit', exitCode = call.exitCode, failedAt = call.failedAt, detectedAt = call.detectedAt,
  }, call.ordered, now)
end

-- bury takes a dead instance out of the counts and answers its death, by phase.
function Group:bury(s, failure, ordered, now)
  local counted = self:counted(s)
  s.dead = true
  if counted then
    self.joined = self.joined - 1
  end
  if self.phase == Running then
    self:openRound(failure, now)
    self:countDown(now)
  elseif self.phase == Restarting and s.round < self.round then
    self:countDown(now)
    if not ordered then
      self.coalesced = self.coalesced + 1
    end
  elseif counted then
    self:soil(failure)
  end
end
