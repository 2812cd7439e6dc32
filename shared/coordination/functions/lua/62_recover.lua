-- recover.go: what the agents know, when the store does not.

-- wentBack tells whether the agent knows a later state than the store: the store lost its last moments.
function Group:wentBack(i, held, call)
  local seen = call.seen
  if seen.epoch ~= self.epoch then
    return false
  elseif self:hasJoined(held, call) and self:disagrees(i, held, seen) then
    return true
  elseif self.phase == Recovering then
    return false
  end
  local unfinished = self.phase == Forming or self.phase == Restarting
  local stillRuns = unfinished and seen.running and seen.round == self.round
  return seen.round > self.round or stillRuns or (seen.entered and self:forming(i))
end

-- disagrees tells whether an agent knows its instance to be of another round than the store does: it was assigned that
-- round in moments that the store has lost. Only a step that the agent has not seen enter makes a round higher.
function Group:disagrees(i, held, seen)
  local known = self:known(seen)
  if known == NO_ROUND then
    return false
  elseif self.phase == Recovering then
    return held.round ~= known
  end
  local round = self:effective(i, held)
  return known > round or (seen.entered and known < round)
end

-- remembered is what an agent knows. One that lost its file in the pod is told by the store, as long as that still has
-- the instance's round from before it began to ask.
function Group:remembered(held, call)
  local seen = call.seen
  local same = held ~= nil and held.id == call.id and held.pod == call.pod and not held.dead and held.generation < self.gen
  local unseen = seen.epoch == 0 and seen.round == NO_ROUND and not seen.holds and not seen.running and not seen.entered
    and seen.instances == 0
  if self.phase ~= Recovering or not same or held.round == NO_ROUND or not unseen then
    return seen
  end
  return { epoch = self.epoch, round = held.round, holds = true, running = false, entered = false, instances = 1 }
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
  self:keepRounds()
  self.gen = self.gen + 1
  self.dirty = {}
  self.recovery = blame({ highest = NO_ROUND, lowest = NO_ROUND, ran = NO_ROUND, hurt = false }, noFailure)
  for k, step in ipairs(self.steps) do
    self.steps[k] = newStep(step.entered ~= NO_ROUND or step.known)
  end
  self:clearCounts()
  for name, s in pairs(self:allSlots()) do
    self:keepFinished(self:stage(name), s)
  end
  self:to(Recovering)
end

-- keepRounds writes down the rounds that slots have only because their step entered later.
function Group:keepRounds()
  for name, s in pairs(self:allSlots()) do
    local i = self:stage(name)
    if s.generation == self.gen and s.round ~= NO_ROUND and i then
      s.round = self:effective(i, s)
    end
  end
end

-- keepFinished carries a finished slot over in which nobody is left to say so again. A record in a place for no slot is let be.
function Group:keepFinished(i, s)
  if i and s.finished and not self.counts[i].left and not self:runsAgain(i, s) then
    s.generation = self.gen
    self:count(i, s, 1)
  end
end

local function miss(step, barrier)
  if barrier then
    step.atBarrier = step.atBarrier + 1
  else
    step.unassigned = step.unassigned + 1
  end
end

-- see adds what one agent knows to the picture. A slot that had a round and has none now lost its instance meanwhile.
function Group:see(i, call, failure)
  local r, seen, round, step = self:lazy('recovery'), call.seen, self:known(call.seen), self:step(i)
  local slotKnown = seen.epoch == self.epoch and seen.round >= 0
  if slotKnown then
    r.highest = math.max(r.highest, seen.round)
    if seen.running then
      r.ran = math.max(r.ran, seen.round)
    end
    step.known = step.known or seen.running or seen.entered
  end
  if round == NO_ROUND then
    miss(step, call.barrier)
  elseif r.lowest == NO_ROUND or round < r.lowest then
    r.lowest = round
  end
  local lost = slotKnown and round == NO_ROUND
  local second = slotKnown and seen.instances > 1 and not seen.running and not call.barrier
  if lost or second then
    self:hurt(i, call.barrier, failure)
  end
end

-- hurt notes a death. One at a barrier hurts nobody, unless its round was Running; its slot has none now.
function Group:hurt(i, barrier, failure)
  local r = self:lazy('recovery')
  if r.kind == '' then
    blame(r, failure)
  end
  if barrier then
    miss(self:step(i), true)
  else
    r.hurt = true
  end
end

-- hurting tells whether somebody died, or a slot without a round is among slots that were running. At a barrier it waits
-- for the highest round, so it is missed only if that was running.
function Group:hurting()
  local r = self:lazy('recovery')
  for _, step in ipairs(self.steps) do
    local missed = step.unassigned > 0 and r.ran ~= NO_ROUND
    local missedAtBarrier = step.atBarrier > 0 and r.ran == math.max(self.round, r.highest)
    if step.known and (missed or missedAtBarrier) then
      return true
    end
  end
  return r.hurt
end

-- collected tells whether every slot has told what it knows: those of the steps that had entered; if none had, those of
-- the first one.
function Group:collected()
  local known = self:anyBegun()
  local left, complete = self:tally()
  for k, step in ipairs(self.steps) do
    if not left[k] and (step.known or not known) then
      if not complete[k] then
        return false
      elseif not known then
        return true
      end
    end
  end
  return true
end

-- recovered decides once every slot has told what it knows.
function Group:recovered(now)
  local r, hurting = self:lazy('recovery'), self:hurting()
  self.round = math.max(self.round, r.highest)
  self:newRecord(self.round, { kind = 'recovery' }, now)
  local equal, finishedAt = self:equal(), self.round
  self:enterKnown()
  self:enterSteps()
  if hurting then
    local cause = failureOf(r)
    if cause.kind == '' then
      cause.kind = 'recovery'
    end
    self:openRound(cause, now)
    self:assign(finishedAt)
  elseif equal then
    self:assign(finishedAt)
    self:running(now)
  else
    self:to(Restarting)
    self:assign(finishedAt)
  end
  if self.phase == Restarting then
    self:settle(now)
  end
end

-- equal tells whether all slots know the desired round, or none knows any.
function Group:equal()
  local r = self:lazy('recovery')
  for _, step in ipairs(self.steps) do
    if step.unassigned + step.atBarrier > 0 and r.highest ~= NO_ROUND then
      return false
    end
  end
  return r.highest == NO_ROUND or r.lowest == self.round
end

-- enterKnown lets the steps in that had entered before. Their slots know their rounds, so the step must not lift them.
function Group:enterKnown()
  for _, step in ipairs(self.steps) do
    if step.known then
      step.entered, step.known = 0, false
    end
  end
end

-- assign gives the slots that have no round the desired one, those that have finished the one it was meanwhile, and
-- counts all anew.
function Group:assign(finishedAt)
  for _, s in pairs(self:allSlots()) do
    if s.generation == self.gen and s.round == NO_ROUND then
      if s.finished then
        s.round = finishedAt
      elseif not s.dead then
        s.round = self.round
      end
    end
  end
  self:recount()
end

-- recount counts the slots of the stages that have not left.
function Group:recount()
  self:clearCounts()
  for name, s in pairs(self:allSlots()) do
    local i = self:stage(name)
    if i and not self.counts[i].left then
      self:count(i, s, 1)
    end
  end
end

function Group:clearCounts()
  for _, c in ipairs(self.counts) do
    if not c.left then
      c.joined, c.done, c.gone = 0, 0, 0
    end
  end
end
