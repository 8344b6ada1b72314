-- reserve_ids.lua: reserves a block of numbers of a day's order id counter, so that no number is ever given twice.
--
-- KEYS (one hash slot)
--   1  counter  string  the last number given
--   2  server   string  run id of the last server that counted
-- ARGV
--   1  how many numbers to reserve, at least 1
--   2  known    a number that was certainly given, 0 for none
--   3  create   "1": create a missing counter, "0": do not
--   4  random   an integer, 0 to 2^31 - 1, different in each call
--   5  how long both keys are kept, seconds
--
-- Returns the last number reserved. It writes nothing and returns
--   -1  the counter is missing
--   -2  the day does not have that many numbers left
-- or an error if the counter is not a whole number.
--
-- A counter that may lack its latest changes leaps ahead: by 1/256 of the day's remaining numbers or by 2^20, whichever
-- is more, plus a random amount of up to as much again, because after two losses in a row it may leap from the same
-- number twice. It may lack changes if it is below a known number, or if another server counted last, because this one
-- was restarted or took over. Repeating the call only wastes a block of numbers.
--
-- All numbers are far below 2^53, so Lua represents them exactly.
--
-- Needs: number, server

local LAST = 4294967295 -- 2^32 - 1: an id has 32 bits for the number

local n, known, random = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])

local function leap(from)
  local most = math.max((LAST - from) / 256, 1048576)
  return from + math.floor(most * (1 + random / 2147483648))
end

local server = run_id() -- if unknown, only a known number reveals missing changes

local stored = redis.call('GET', KEYS[1])
local counter
if not stored then
  if ARGV[3] ~= '1' then
    return -1
  end
  -- If nothing is known, instances may still hold blocks of a lost counter from which no order was recorded: several
  -- thousand numbers. The chance that a block at a random number meets them is small.
  counter = known == 0 and random or leap(known)
else
  counter = tonumber(stored)
  if not counter or counter ~= math.floor(counter) then
    return redis.error_reply('ERR order id counter is not a whole number')
  end
  local counted_elsewhere = server ~= '' and redis.call('GET', KEYS[2]) ~= server
  if counted_elsewhere or counter < known then
    counter = leap(math.max(counter, known))
  end
end

local last = counter + n
if last > LAST then
  return -2
end
redis.call('SET', KEYS[1], whole(last), 'EX', ARGV[5])
if server ~= '' then
  redis.call('SET', KEYS[2], server, 'EX', ARGV[5])
end
return last
