-- group.go: what the other rules stand on.

function Group:size()
  local n = 0
  for _, stage in ipairs(self.stages) do
    n = n + stage.jobs * stage.pods
  end
  return n
end

local function isIndex(s)
  return s == '0' or string.sub(s, 1, 1) ~= '0'
end

function Group:has(slot)
  local prefix, job, pod = string.match(slot, '^(.+)%-(%d+)%-(%d+)$')
  if not prefix or not isIndex(job) or not isIndex(pod) then
    return false
  end
  for _, stage in ipairs(self.stages) do
    if stage.prefix == prefix and tonumber(job) < stage.jobs and tonumber(pod) < stage.pods then
      return true
    end
  end
  return false
end

-- current tells whether a slot's instance belongs to the desired round of this life of the group.
function Group:current(s)
  return s ~= nil and s.generation == self.gen and (self.phase == Recovering or s.round == self.round)
end

-- counted tells whether the slot is one of the joined. A finished worker keeps its place.
function Group:counted(s)
  if s == nil or s.generation ~= self.gen then
    return false
  end
  return s.finished or (not s.dead and self:current(s))
end

-- leaving tells whether the pods of this epoch are about to go. What comes in then changes nothing.
function Group:leaving()
  return self.phase == Closed or self.phase == Recreating
end

function Group:to(newPhase)
  self.phase = newPhase
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
  self.record = {
    epoch = self.epoch, round = round,
    slot = failure.slot or '', kind = failure.kind or '', exitCode = failure.exitCode or 0,
    failedAt = failure.failedAt or 0, detectedAt = failure.detectedAt or 0, reportedAt = now, inSyncAt = 0,
  }
  self.lastDownAt, self.lastUpAt, self.downs, self.ups, self.coalesced = 0, 0, 0, 0, 0
end

-- wholeRecord is a record as the leader reads it.
function Group:wholeRecord()
  return restartRecord.write(self:lazy('record')) .. ' ' .. tallyRecord.write(self)
end

-- openRound answers a failure: the next round, or the end of what can be done in place.
function Group:openRound(failure, now)
  self.dirty = {}
  self:newRecord(self.round + 1, failure, now)
  if self.round + 1 > self.limit then
    self:giveUp(Terminal)
  elseif self.done > 0 then
    self.record.kind = 'finished'
    self:giveUp(Recreating)
  else
    self.round = self.round + 1
    self.joined = 0
    self:to(Restarting)
  end
end

function Group:giveUp(newPhase)
  self:to(newPhase)
  self:remember()
end

-- settle moves on once every slot has joined.
function Group:settle(now)
  if self.joined < self:size() then
    return
  end
  if self.phase == Recovering then
    self:recovered(now)
  elseif self.phase ~= Forming and self.phase ~= Restarting then
    return
  elseif self.dirty.kind then
    self:openRound(self.dirty, now)
  else
    self:running(now)
  end
end

-- soil notes that an instance of the round in progress died.
function Group:soil(failure)
  if self.phase == Recovering then
    self:hurt(failure)
  elseif self.phase == Forming or self.phase == Restarting then
    self.coalesced = self.coalesced + 1
    if not self.dirty.kind then
      self.dirty = failure
    end
  end
end
