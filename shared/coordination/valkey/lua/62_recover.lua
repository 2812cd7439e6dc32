-- recover.go: what the agents know, when the store does not.

-- wentBack tells whether the agent knows a later state than the store: the store lost its last moments.
function Group:wentBack(seen)
  if self.phase == Recovering or seen.epoch ~= self.epoch then
    return false
  end
  local unfinished = self.phase == Forming or self.phase == Restarting
  return seen.round > self.round or (unfinished and seen.running and seen.round == self.round)
end

-- known is the round that the agent knows its living instance to have.
function Group:known(seen)
  if seen.holds and seen.epoch == self.epoch then
    return seen.round
  end
  return NO_ROUND
end

-- recover starts to collect what the agents know. All of them join anew under the next generation.
function Group:recover()
  self.gen = self.gen + 1
  self.joined, self.dirty, self.done = 0, {}, 0
  self.recovery = {
    highest = NO_ROUND, lowest = NO_ROUND, unassigned = 0, sawRunning = false, hurt = false,
    slot = '', kind = '', exitCode = 0, failedAt = 0, detectedAt = 0,
  }
  for _, s in pairs(self:allSlots()) do
    self:keepFinished(s)
  end
  self:to(Recovering)
end

-- keepFinished carries a finished slot over: nobody is left in it to join again.
function Group:keepFinished(s)
  if s.finished then
    s.generation = self.gen
    self.joined = self.joined + 1
    self.done = self.done + 1
  end
end

-- see adds what one agent knows to the picture. A slot that had a round and has none now lost its instance meanwhile.
function Group:see(seen, failure)
  local r, round = self:lazy('recovery'), self:known(seen)
  local slotKnown = seen.epoch == self.epoch and seen.round >= 0
  if slotKnown then
    r.sawRunning = r.sawRunning or seen.running
    r.highest = math.max(r.highest, seen.round)
  end
  if round == NO_ROUND then
    r.unassigned = r.unassigned + 1
  elseif r.lowest == NO_ROUND or round < r.lowest then
    r.lowest = round
  end
  local lost = slotKnown and round == NO_ROUND
  local second = slotKnown and seen.instances > 1 and not seen.running
  if lost or second then
    self:hurt(failure)
  end
end

function Group:hurt(failure)
  local r = self:lazy('recovery')
  if not r.hurt then
    r.hurt = true
    r.slot, r.kind, r.exitCode = failure.slot, failure.kind, failure.exitCode
    r.failedAt, r.detectedAt = failure.failedAt, failure.detectedAt
  end
end

-- recovered decides once every slot has told what it knows.
function Group:recovered(now)
  local r = self:lazy('recovery')
  self.round = math.max(self.round, r.highest)
  self:newRecord(self.round, { kind = 'recovery' }, now)
  if r.hurt or (r.unassigned > 0 and r.sawRunning) then
    local kind = r.kind ~= '' and r.kind or 'recovery'
    self:openRound(
      { slot = r.slot, kind = kind, exitCode = r.exitCode, failedAt = r.failedAt, detectedAt = r.detectedAt }, now)
    self:assign()
  elseif r.highest == NO_ROUND or (r.unassigned == 0 and r.lowest == r.highest) then
    self:assign()
    self:running(now)
  else
    self:to(Restarting)
    self:assign()
  end
  if self.phase == Restarting then
    self:settle(now)
  end
end

-- assign gives the slots that have no round the desired one, and counts who is in sync.
function Group:assign()
  self.joined = 0
  for _, s in pairs(self:allSlots()) do
    if s.generation == self.gen and s.round == NO_ROUND and not s.dead then
      s.round = self.round
    end
    if self:counted(s) then
      self.joined = self.joined + 1
    end
  end
end
