-- down.go: a death.

function Group:down(call, now)
  checkDown(call, now)
  local held, newPod = self:admit(call, now)
  local i = self:stage(call.slot)
  if self:leaving() or self.counts[i].left then
    return self:reply(call.slot, call.id)
  end
  if not newPod and self:isStale(held, call) then
    return self:unheard(held, call)
  end
  if newPod or not self:hasJoined(held, call) then
    self:enter(i, call, held, newPod, now)
    held = self:slot(call.slot)
    if not call.barrier then
      self:settle(now)
    end
  end
  self:die(i, held, call, now)
  self:settle(now)
  return self:reply(call.slot, call.id)
end

function Group:die(i, s, call, now)
  if self:counted(i, s) and call.exitCode == 0 and not call.ordered then
    self:count(i, s, -1)
    s.dead, s.finished = true, true
    self:count(i, s, 1)
    return
  end
  self:bury(i, s, {
    slot = call.slot, kind = call.kind == '' and 'exit' or call.kind, exitCode = call.exitCode, podName = call.podName,
    node = call.node, signal = call.signal, reason = call.reason, failedAt = call.failedAt, detectedAt = call.detectedAt,
  }, call.ordered, now)
end

-- bury takes a dead instance out of the counts and answers its death, by phase.
function Group:bury(i, s, failure, ordered, now)
  local counted = self:counted(i, s)
  self:count(i, s, -1)
  s.dead = true
  if self.phase == Running and not self:forming(i) then
    self:openRound(failure, now)
    self:countDown(i, now)
  elseif self.phase == Restarting and self:effective(i, s) < self.round and not self:forming(i) then
    self:countDown(i, now)
    if not ordered then
      self.coalesced = self.coalesced + 1
    end
  elseif counted then
    self:soil(i, s, failure)
  end
end
