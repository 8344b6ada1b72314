-- reserve_ids.lua: reserves a block of numbers of a day's order id counter, so that no number is ever given twice.
--
-- KEYS (one hash slot)
--   1  counter  string  the number that was given last
--   2  server   string  run id of the server that counted last
-- ARGV
--   1  how many numbers to reserve, at least 1
--   2  known    a number that was certainly given, 0 for none
--   3  create   "1": create a missing counter, "0": do not
--   4  random   an integer, 0 to 2^31 - 1, another one in each call
--   5  for how many seconds both keys are kept
--
-- Returns the last number reserved, or, having written nothing,
--   -1  the counter is missing
--   -2  the day does not have that many numbers left
-- and an error when the counter is not a whole number.
--
-- A counter that may lack its latest changes leaps: over a 256th of what the day has left or 2^20 numbers, whichever is
-- more, and over a random amount up to as much again, because after two losses in a row it may leap from the same
-- number twice. It may lack changes when it stands below a known number, and when another server counted last: this one
-- was restarted or took over. Running it twice for one request leaves a block of numbers unused and does no other harm.
--
-- All numbers stay far below 2^53, so Lua has them exactly.
--
-- Needs: number, server

local LAST = 4294967295 -- 2^32 - 1: an id has 32 bits for the number

local n, known, random = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])

local function leap(from)
  local most = math.max((LAST - from) / 256, 1048576)
  return from + math.floor(most * (1 + random / 2147483648))
end

local server = run_id() -- without it only a known number shows that changes are missing

local stored = redis.call('GET', KEYS[1])
local counter
if not stored then
  if ARGV[3] ~= '1' then
    return -1
  end
  -- With nothing known, instances may still hold blocks of a counter that was lost before an order of theirs was recorded:
  -- some thousands of numbers. The chance that a block from a random number on meets them is small.
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
