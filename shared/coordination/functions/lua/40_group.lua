-- group.go and settle.go: what the other rules stand on.

-- sum adds up over the stages whose slots have to be in sync.
function Group:sum(of)
  local n, anyBegun = 0, self:anyBegun()
  for i = 1, #self.stages do
    if self:expected(i, anyBegun) then
      n = n + of(i)
    end
  end
  return n
end

function Group:size()
  return self:sum(function(i) return self:slotsOf(i) end)
end

function Group:joined()
  return self:sum(function(i) return self.counts[i].joined end)
end

function Group:done()
  local n = 0
  for _, c in ipairs(self.counts) do
    n = n + c.done
  end
  return n
end

-- mustRepeat tells whether a death is known that one more round will answer.
function Group:mustRepeat()
  if self.phase == Recovering then
    return self:hurting()
  end
  for _, step in ipairs(self.steps) do
    if step.kind ~= '' then
      return true
    end
  end
  return self.dirty.kind ~= nil
end

-- effective is the round of a slot's instance: the one it was given, or the one its step entered at.
function Group:effective(i, s)
  return math.max(s.round, self:step(i).entered)
end

-- current tells whether a slot's instance belongs to the desired round of this life of the group.
function Group:current(i, s)
  if s == nil or s.generation ~= self.gen then
    return false
  end
  return self.phase == Recovering or self:forming(i) or self:effective(i, s) == self.round
end

-- counted tells whether the slot is one of its stage's joined. A finished worker keeps its place, until a round opens
-- that it can take part in.
function Group:counted(i, s)
  if s == nil or s.generation ~= self.gen or (s.dead and not s.finished) then
    return false
  end
  if s.finished and not self:runsAgain(i, s) then
    return true
  end
  return self:current(i, s)
end

-- runsAgain tells whether somebody holds the worker, so that it can run once more after it has finished.
function Group:runsAgain(i, s)
  return s.barrier and self.stages[i].release ~= 'free'
end

-- count takes a slot into its stage's counts (n is 1) or out of them (-1).
function Group:count(i, s, n)
  if not self:counted(i, s) then
    return
  end
  local c = self.counts[i]
  c.joined = c.joined + n
  if s.finished then
    c.done = c.done + n
    if not self:runsAgain(i, s) then
      c.gone = c.gone + n
    end
  end
end

-- leaving tells whether the pods of this epoch are about to go. What comes in then changes nothing.
function Group:leaving()
  return self.phase == Closed or self.phase == Recreating or self.phase == Completed
end

function Group:to(newPhase)
  self.phase, self.told = newPhase, self:tokens()
  self.seq = self.seq + 1
end

-- running ends a formation or a restart.
function Group:running(now)
  self:lazy('record').inSyncAt = now
  self:to(Running)
  self:remember()
end

function Group:remember()
  self.finishedRecords[#self.finishedRecords + 1] = self:wholeRecord()
end

function Group:newRecord(round, failure, now)
  self.record = blame({ epoch = self.epoch, round = round, reportedAt = now, inSyncAt = 0 }, failure)
  self.lastDownAt, self.firstUpAt, self.lastUpAt, self.lastStartAt = 0, 0, 0, 0
  self.downs, self.ups, self.starts, self.coalesced = 0, 0, 0, 0
end

-- wholeRecord is a record as the leader reads it.
function Group:wholeRecord()
  return restartRecord.write(self:lazy('record')) .. ' ' .. tallyRecord.write(self)
end

-- overtaken keeps the record of a restart, or of a formation, that another restart follows before it has ended.
function Group:overtaken()
  if self.phase ~= Running then
    self:remember()
  end
end

-- pace sets how long the workers of the next round wait before they start. A round that never ran says nothing about them.
function Group:pace(now)
  local began = self:lazy('record').inSyncAt
  if began > 0 then
    local early = now - began - self.delay < HEALTHY
    self.earlyEnds = early and math.min(self.earlyEnds + 1, MOST_ENDS) or 0
  end
  local doubled = self.earlyEnds - FREE_ENDS
  self.delay = doubled > 0 and math.min(FIRST_DELAY * 2 ^ (doubled - 1), self.maxDelay) or 0
end

-- openRound answers a failure: the next round, or the end of what can be done in place.
function Group:openRound(failure, now)
  self.dirty = {}
  self:pace(now)
  self:newRecord(self.round + 1, failure, now)
  if self.round + 1 > self.limit then
    self:giveUp(Terminal)
  elseif self:stuck() then
    self.record.kind = 'finished'
    self:giveUp(Recreating)
  else
    self.round = self.round + 1
    self:nextRound()
    self:to(Restarting)
  end
end

function Group:giveUp(newPhase)
  self:to(newPhase)
  self:remember()
end

-- soil notes the death of an instance of the round in progress. One that waited at a barrier was missed by nobody.
function Group:soil(i, s, failure)
  if self.phase == Recovering then
    return self:hurt(i, s.barrier, failure)
  elseif self.phase ~= Running and self.phase ~= Forming and self.phase ~= Restarting then
    return
  elseif self.phase == Forming or not self:forming(i) then
    self.coalesced = self.coalesced + 1
  end
  local step = self:step(i)
  if s.barrier then
    return
  elseif not self:forming(i) then
    self:soilAll(failure)
  elseif step.kind == '' then
    blame(step, failure)
  end
end

-- soilAll makes one more round follow.
function Group:soilAll(failure)
  if not self.dirty.kind then
    self.dirty = failure
  end
end

-- settle moves on as far as the slots allow.
function Group:settle(now)
  if self.phase == Recovering then
    self:leaveStages()
    self:endRecovery(now)
  elseif self.phase == Forming or self.phase == Running or self.phase == Restarting then
    self:leaveStages()
    self:enterSteps()
    self:moveOn(now)
  end
  if self.told ~= self:tokens() then
    self:to(self.phase)
  end
end

function Group:moveOn(now)
  if self:succeeded() then
    self:finish()
  elseif not self:inSync() then
    return
  elseif self.dirty.kind then
    self:overtaken()
    self:openRound(self.dirty, now)
  elseif self.phase ~= Running then
    self:running(now)
  end
end

-- finish ends the group's work: whoever fails from now on is not needed.
function Group:finish()
  local unfinished = self.phase == Forming or self.phase == Restarting
  self:to(Completed)
  if unfinished then
    self:remember()
  end
end

function Group:endRecovery(now)
  if self:succeeded() then
    self:finish()
  elseif self:collected() then
    self:recovered(now)
  end
end
