-- member.go: who speaks.

-- admit checks who speaks. It returns the slot's record and whether the pod is new in a slot that another pod held.
function Group:admit(call, now)
  self:check(call, now)
  local held = self:slot(call.slot)
  local holds = held ~= nil and held.pod == call.pod
  local older = held ~= nil and call.podBorn < held.podBorn
  local fromEarlier = call.seen.epoch > 0 and call.seen.epoch < self.epoch
  if not holds and (older or fromEarlier) then
    self:fence(call.pod)
  end
  if self:isFenced(call.pod) then
    fail('HFFENCED', 'this pod no longer holds its slot')
  end
  if call.seen.epoch > self.epoch then
    fail('HFNOGROUP', 'the stored data are older than what the agent knows')
  end
  return held, held ~= nil and not holds
end

function Group:check(call, now)
  if not self:stage(call.slot) then
    fail('HFUNKNOWNSLOT', 'not a slot of this group')
  end
  local seen = call.seen
  if call.pod == '' or not (isWord(call.pod) and isWord(call.id) and isWord(call.podName) and isWord(call.node)) then
    foreign(call.slot, 'argument', table.concat({ call.pod, call.id, call.podName, call.node }, ' '))
  end
  if not (isBirth(call.podBorn, now) and isBirth(call.born, now) and
    isCount(seen.epoch) and isCount(seen.round + 1) and isCount(seen.instances)) then
    foreign(call.slot, 'argument', table.concat({ call.podBorn, call.born, seen.epoch, seen.round, seen.instances }, ' '))
  end
  if seen.epoch == self.epoch and seen.round > math.max(self.limit, self.round) then
    foreign(call.slot, 'round', seen.round)
  end
end

-- checkDown is for what only a death brings with it.
local function checkDown(call, now)
  if call.exitCode < -MAX_CODE - 1 or call.exitCode > MAX_CODE or
    not isMoment(call.failedAt, now) or not isMoment(call.detectedAt, now) then
    foreign(call.slot, 'argument', call.exitCode .. ' ' .. call.failedAt .. ' ' .. call.detectedAt)
  end
  local known = call.kind == '' or call.kind == 'exit' or call.kind == 'hang'
  if not known or call.signal < 0 or call.signal > MAX_SIGNAL or not isWord(call.reason) then
    foreign(call.slot, 'argument', call.kind .. ' ' .. call.signal .. ' ' .. call.reason)
  end
end

-- reply is the level, then: round step stage released. The round is that of the instance that asks, not of another one
-- which the slot still stands for.
function Group:reply(slot, id)
  local i, s, round = self:stage(slot), self:slot(slot), NO_ROUND
  if s and s.id == id and not s.dead and s.generation == self.gen then
    round = self:effective(i, s)
  end
  local finished = s ~= nil and s.finished and self:counted(i, s)
  local released = self.phase == Completed or self.counts[i].left or (finished and not self:runsAgain(i, s))
  return { self:level(), string.format('%d %d %d %d', round, self.stages[i].step, i - 1, released and 1 or 0) }
end

-- unheard is the reply to a report of an instance that is behind the slot's: it adds when that one was born.
function Group:unheard(held, call)
  local reply = self:reply(call.slot, call.id)
  if held.id ~= call.id then
    reply[2] = reply[2] .. ' ' .. format(held.born)
  end
  return reply
end
